/**
 * `openhisp directory …`: loading, showing and rolling back the provider directory (docs/directory-
 * import.md).
 * Used by `app/cli/create-program.ts`.
 * Begin with `directory-commands.ts`.
 */
export { addDirectoryCommands } from './directory-commands.ts';
