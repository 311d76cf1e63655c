/** Also what is left of a link that was cut or got a period: the server says that it does not work. */
const form = /^#enter=([\w-]{0,200})/;

/**
 * The token of the link that opened this page; returned once. It is in the fragment, which is not sent to a
 * server, and it is removed from the address at once, so that neither history nor a bookmark contains it.
 */
export function takeEntryToken(): string | undefined {
  const token = form.exec(location.hash)?.[1];
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return token;
}
