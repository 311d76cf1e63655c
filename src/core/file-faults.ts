import { errorText } from './errors.ts';
import { loginName } from './login-name.ts';

const fileFaults: Readonly<Record<string, string>> = {
  ENOENT: 'not found. Check the path and its folders.',
  EEXIST: 'exists already and is not overwritten. Name a new file.',
  EACCES: `no permission for the user ${loginName()}. Check the modes of the file and its folders, or run the command as the user of the service.`,
  EISDIR: 'is a folder. Name a file.',
  ENOTDIR: 'a part of the path is not a folder. Check the path.',
  ENOSPC: 'the disk is full. Free some space and run the command again.',
  EMFILE: 'this process may open no more files. Raise the limit (LimitNOFILE, ulimit -n).',
  EROFS: 'the file system is read-only. Mount it writable (mount, dmesg), or name a file elsewhere.',
};

/** What is wrong with a file that cannot be used, and what to do; undefined for errors of another kind. */
export function findFileFault(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return fileFaults[String(error.code)];
}

/** For an error that names its file already. */
export function fileErrorText(error: unknown): string {
  return findFileFault(error) ?? errorText(error);
}
