/** How a session began, in words. */
export const methodWords: Readonly<Record<string, string>> = {
  link: 'link',
  passkey: 'passkey',
  oidc: 'OpenID Connect',
  token: 'token',
};

/** `Chrome on Linux` from a User-Agent header. */
export function browserName(userAgent: string): string {
  const browser = /(Edg|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1];
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(userAgent)?.[1];
  if (browser === undefined) return userAgent.slice(0, 60) || 'unknown program';
  const name = browser === 'Edg' ? 'Edge' : browser;
  return system === undefined ? name : `${name} on ${system.replace('Mac OS X', 'macOS')}`;
}
