import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js';

const enhancedCode = /^[245]\.\d{1,3}\.\d{1,3} /;

/**
 * The library's session with three differences: it greets at once (the library waits 100 ms for talkers before the
 * greeting, on every connection), a reply text that starts with an enhanced code keeps it (the library derives one
 * from the basic code), and the session ends after a time whatever it does.
 */
export class SessionConnection extends SMTPConnection {
  #timer: NodeJS.Timeout | undefined;

  override init(): void {
    this._setListeners(() => {
      const { maxClients } = this._server.options;
      if (maxClients !== undefined && this._server.connections.size > maxClients) {
        this.send(421, '4.3.2 Too many connections, try again later', false);
        return;
      }
      this.connectionReady();
    });
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const hasOwnCode = typeof data === 'string' && enhancedCode.test(data);
    super.send(code, data, hasOwnCode ? false : context);
  }

  endAfter(milliseconds: number): void {
    this.#timer = setTimeout(
      () => this.send(421, '4.4.2 This session has lasted too long', false),
      milliseconds,
    );
    this.#timer.unref();
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
  }
}
