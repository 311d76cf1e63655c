export { serveLine } from './line-session.ts';
