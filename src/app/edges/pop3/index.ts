export { servePop3 } from './pop3-session.ts';
