const form = /^#enter=([\w-]{20,200})$/;

/**
 * The token of a link that this page was opened by, once. It is in the fragment, which no server sees, and it leaves the address at
 * once, so that neither history nor a bookmark keeps it.
 */
export function takeEntryToken(): string | undefined {
  const token = form.exec(location.hash)?.[1];
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return token;
}
