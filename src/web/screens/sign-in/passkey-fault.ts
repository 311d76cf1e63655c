/** The message for an error of the passkey API. */
export function passkeyFault(error: Error): string {
  switch (error.name) {
    case 'NotAllowedError':
      return 'No passkey was chosen, or the request timed out. Try again.';
    case 'InvalidStateError':
      return 'This device already has a passkey for you: sign in with it.';
    case 'SecurityError':
      return 'The browser does not allow passkeys at this address. Open the console by its host name (console.publicUrl or localhost), not by an IP address.';
    default:
      return error.message;
  }
}
