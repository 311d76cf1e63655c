import { CodedError, errorText } from '../../core/index.ts';
import { createCliContext } from './context.ts';
import { createProgram, findCommand } from './create-program.ts';
import type { NamedInstallation } from './find-installation.ts';

const named: NamedInstallation = {};
const context = createCliContext(process, named);
try {
  const program = await createProgram(context, named, findCommand(process.argv.slice(2)));
  await program.parseAsync(process.argv);
} catch (error) {
  context.note(error instanceof CodedError ? error.message : `openhisp failed: ${errorText(error)}`);
  if (!(error instanceof CodedError) && process.env['OPENHISP_DEBUG'] !== undefined) console.error(error);
  process.exitCode = 1;
}
