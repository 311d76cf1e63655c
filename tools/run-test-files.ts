/** Runs several files of tests in one process, each as a suite, so that what they import is loaded once. Arguments: the files. */
import { suite } from 'node:test';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2))
  void suite(file, async () => {
    await import(pathToFileURL(path.resolve(file)).href);
  });
