/** Runs `openhisp directory …` as its own process: `node run-cli.ts directory import FILE`, data in OPENHISP_DATA_DIR. */
import { Command } from 'commander';
import { createCliContext } from '../../src/app/cli/context.ts';
import { addDirectoryCommands } from '../../src/app/cli/directory/index.ts';
import { errorText } from '../../src/core/index.ts';

const context = createCliContext(process);
const program = new Command('openhisp');
addDirectoryCommands(program, context);
try {
  await program.parseAsync(process.argv);
} catch (error) {
  context.note(errorText(error));
  process.exitCode = 1;
}
