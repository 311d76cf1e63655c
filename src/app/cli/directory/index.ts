/** `openhisp directory …`: loading, showing and rolling back the provider directory (docs/directory-import.md). */
export { addDirectoryCommands } from './directory-commands.ts';
