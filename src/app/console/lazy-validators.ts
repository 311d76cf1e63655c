import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { compileValidator } from '../http/index.ts';

/** Compiles the validator of a request schema at its first request, for the reason of `lazySerializers`. */
export const lazyValidators: FastifySchemaCompiler<TSchema> = (route) => {
  let validate: ReturnType<typeof compileValidator> | undefined;
  return (value) => (validate ??= compileValidator(route))(value);
};
