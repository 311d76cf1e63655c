export { serveLine, type LineDependencies } from './line-session.ts';
