/** A passkey device of Chromium, and what a page does with it. */
import type { CDPSession, Page } from 'playwright-core';

/** As a phone or laptop with a fingerprint reader, whose user agrees at once. */
const device = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  automaticPresenceSimulation: true,
} as const;

export interface VirtualAuthenticator {
  readonly cdp: CDPSession;
  readonly authenticatorId: string;
}

/** `canVerify: false` is a plain security key, which only asks for a touch. */
export async function addAuthenticator(page: Page, canVerify = true): Promise<VirtualAuthenticator> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...device, hasUserVerification: canVerify, isUserVerified: canVerify },
  });
  return { cdp, authenticatorId };
}

/** The response of the page's authenticator to the options, as JSON. */
export function useAuthenticator(page: Page, verb: 'create' | 'get', options: unknown): Promise<unknown> {
  return page.evaluate(`(async () => {
    const read = '${verb === 'create' ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON'}';
    const publicKey = PublicKeyCredential[read](${JSON.stringify(options)});
    return (await navigator.credentials.${verb}({ publicKey })).toJSON();
  })()`);
}

/** The answer to a page's request. */
export interface PageAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export const reasonOf = (answer: Pick<PageAnswer, 'body'>): unknown =>
  (answer.body['errors'] as readonly { reason: string }[] | undefined)?.[0]?.reason;

/** A request of the page itself, with its cookies and its Origin. */
export function fetchInPage(page: Page, method: string, target: string, body?: unknown): Promise<PageAnswer> {
  return page.evaluate(
    async ([verb, url, json]) => {
      const response = await fetch(url as string, {
        method: verb as string,
        ...(json === undefined
          ? {}
          : { body: json as string, headers: { 'content-type': 'application/json' } }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as object) };
    },
    [method, target, body === undefined ? undefined : JSON.stringify(body)],
  ) as Promise<PageAnswer>;
}
