/** Why no passkey was used or made, in words. */
export function passkeyFault(error: Error): string {
  switch (error.name) {
    case 'NotAllowedError':
      return 'No passkey was chosen, or the time for it ran out. Try again.';
    case 'InvalidStateError':
      return 'This device has a passkey for you already: sign in with it.';
    case 'SecurityError':
      return 'The browser refuses passkeys at this address. Open the console by its name (console.publicUrl, or localhost), not by an IP address.';
    default:
      return error.message;
  }
}
