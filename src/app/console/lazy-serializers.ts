import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';

type Factory = ReturnType<typeof SerializerSelector>;

/**
 * Compiles the serializer of a response schema at its first response. Compiling those of all routes takes
 * longer than the rest of the console's start, and most of them are not needed before an operator opens a
 * screen.
 */
export const lazySerializers: Factory = (externalSchemas, options) => {
  const compile = SerializerSelector()(externalSchemas, options);
  return (route) => {
    let serialize: ReturnType<typeof compile> | undefined;
    return (body) => (serialize ??= compile(route))(body);
  };
};
