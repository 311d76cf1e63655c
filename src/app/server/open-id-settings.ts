import { readSecretFile, type Config } from '../../platform/index.ts';
import { parseRole, type OpenIdSettings } from '../../service/operators/index.ts';

/** The OpenID provider of the settings; undefined if none is set. */
export function openIdSettingsOf({ console: { oidc } }: Config): OpenIdSettings | undefined {
  const { issuer, clientId, clientSecretFile, name, scopes, rolesClaim } = oidc;
  if (issuer === undefined || clientId === undefined) return undefined;
  return {
    name,
    issuer,
    clientId,
    clientSecret:
      clientSecretFile === undefined
        ? undefined
        : readSecretFile('console.oidc.clientSecretFile', clientSecretFile),
    scopes,
    rolesClaim,
    roleMap: oidc.roleMap.map((text) => {
      const at = text.lastIndexOf('=');
      const [role = '', organizationId] = text.slice(at + 1).split('@');
      return { value: text.slice(0, at), role: parseRole(role), organizationId };
    }),
  };
}
