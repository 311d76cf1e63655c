import { createCliContext } from './context.ts';
import { createProgram, findCommand } from './create-program.ts';
import { describeError, isExpected } from './describe-error.ts';
import type { NamedInstallation } from './find-installation.ts';

const named: NamedInstallation = {};
const context = createCliContext(process, named);
try {
  const program = await createProgram(context, named, findCommand(process.argv.slice(2)));
  await program.parseAsync(process.argv);
} catch (error) {
  context.note(`${isExpected(error) ? '' : 'openhisp failed: '}${describeError(error)}`);
  if (!isExpected(error) && process.env['OPENHISP_DEBUG'] !== undefined) console.error(error);
  process.exitCode = 1;
}
