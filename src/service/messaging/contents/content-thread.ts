/** Runs in a worker thread: work that would block the event loop for a large message. */
import { serveTasks } from '../../../core/threads/index.ts';
import { doContentWork, listContents } from './content-work.ts';

serveTasks(doContentWork, listContents);
