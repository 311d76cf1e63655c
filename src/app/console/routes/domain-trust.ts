import { readCertificate, type Certificate } from '../../../lib/pki/index.ts';
import { describeAnchorFaults, requireHostedDomain, TrustError } from '../../../service/trust/index.ts';
import { anchorAnswer, doneAnswer, newAnchor, newBundle, newDomain } from '../contract/index.ts';
import { invalidField } from '../errors.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { Acting } from './acting.ts';
import { toFacts } from './domains.ts';

/** Routes that host a domain and change what it trusts: anchors and bundles. */
export function domainTrustRoutes({ clock }: ConsoleServices, acting: Acting): ConsoleRoutes {
  return (app) => {
    route(app, 'post', '/domains', {
      needs: 'settings.change',
      about: ['domains', 'Host a domain', 'It needs a key, an anchor, addresses and DNS records next.'],
      body: newDomain,
      answer: doneAnswer,
      refuses: [404, 409],
      handle: async (request) => {
        const domain = request.body.domain.trim().toLowerCase();
        const { trust } = acting(request);
        const isKnown = await trust.isHostedDomain(domain).catch(() => false);
        await trust.addDomain(domain, request.body.organization);
        return {
          count: isKnown ? 0 : 1,
          sentence: isKnown ? `${domain} was hosted already.` : `${domain} is hosted.`,
        };
      },
    });
    route(app, 'post', '/domains/:domain/anchors', {
      needs: 'settings.change',
      about: ['domains', 'Trust a CA', 'With preview only what the certificate says is answered.'],
      body: newAnchor,
      answer: anchorAnswer,
      handle: async (request) => {
        const { trust } = acting(request);
        const domain = await requireHostedDomain(trust, request.params.domain);
        const { direction, preview } = request.body;
        const certificate = readPem('certificate', request.body.certificate);
        if (!preview) await trust.addAnchor(domain, certificate.der, direction);
        return {
          certificate: toFacts(certificate),
          warning: describeAnchorFaults(certificate, clock.now()).join(' '),
          sentence: preview
            ? `Mail ${direction === 'both' ? 'in both directions' : direction} will be trusted if its certificates are issued under ${certificate.subject}.`
            : `${domain} trusts ${certificate.subject}.`,
        };
      },
    });
    route(app, 'delete', '/domains/:domain/anchors/:id', {
      needs: 'settings.change',
      about: ['domains', 'Stop trusting an anchor'],
      answer: doneAnswer,
      refuses: [409],
      handle: async (request) => {
        const { trust } = acting(request);
        const { id } = request.params;
        const domain = await requireHostedDomain(trust, request.params.domain);
        const anchor = (await trust.listAnchors(domain)).find((one) => one.id === id);
        if (anchor === undefined) throw new TrustError('TRUST_ANCHOR_UNKNOWN', `Unknown anchor: ${id}.`);
        await trust.removeAnchor(id);
        const again = anchor.bundleId === '' ? '' : ' Its bundle adds it again at the next refresh.';
        return {
          count: 1,
          sentence: `${domain} no longer trusts ${anchor.certificate.subject}.${again}`,
        };
      },
    });
    route(app, 'post', '/domains/:domain/bundles', {
      needs: 'settings.change',
      about: ['domains', 'Follow a trust bundle', 'A running server fetches it within a minute.'],
      body: newBundle,
      answer: doneAnswer,
      handle: async (request) => {
        const { trust } = acting(request);
        const domain = await requireHostedDomain(trust, request.params.domain);
        const { url, direction, refreshHours, signer = '' } = request.body;
        await trust.addBundle({
          domain,
          url: url.trim(),
          direction,
          refreshSeconds: Math.round(refreshHours * 3600),
          ...(signer.trim() !== '' && { signer: readPem('signer', signer).der }),
        });
        return { count: 1, sentence: 'The bundle is fetched within a minute.' };
      },
    });
    route(app, 'delete', '/domains/:domain/bundles/:id', {
      needs: 'settings.change',
      about: ['domains', 'Remove a trust bundle', 'Its anchors are no longer trusted.'],
      answer: doneAnswer,
      handle: async (request) => {
        const { trust } = acting(request);
        const { id } = request.params;
        const domain = await requireHostedDomain(trust, request.params.domain);
        const bundle = (await trust.listBundles()).find((one) => one.id === id && one.domain === domain);
        if (bundle === undefined)
          throw new TrustError('TRUST_BUNDLE_UNKNOWN', `Unknown trust bundle: ${id}.`);
        await trust.removeBundle(id);
        return {
          count: bundle.anchorCount,
          sentence: 'The bundle is removed, and its anchors are no longer trusted.',
        };
      },
    });
  };
}

/** Names the field, which no parser knows. */
function readPem(field: string, text: string): Certificate {
  try {
    return readCertificate(Buffer.from(text));
  } catch (error) {
    throw invalidField(field, `${field} is not one X.509 certificate in PEM.`, error);
  }
}
