import { countOf } from '../../../core/index.ts';
import { disableDomain, removeDomain } from '../../../service/hosting/index.ts';
import { requireHostedDomain } from '../../../service/trust/index.ts';
import { domainRemoval, doneAnswer, removeRequest } from '../contract/index.ts';
import { invalidField } from '../errors.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { Acting } from './acting.ts';

/** Routes that end a domain (Decision 0038). */
export function domainRemovalRoutes({ storage, clock }: ConsoleServices, acting: Acting): ConsoleRoutes {
  const depsFor = (request: Parameters<typeof acting>[0]) => {
    const { trust, audit } = acting(request);
    return { storage, clock, trust, audit };
  };
  return (app) => {
    route(app, 'get', '/domains/:domain/removal', {
      needs: 'settings.change',
      about: [
        'domains',
        'Show what the removal of a domain ends',
        'And what is in the way. Nothing is changed.',
      ],
      answer: domainRemoval,
      handle: async (request) => {
        const removal = await acting(request).trust.describeRemoval(request.params.domain);
        return { ...removal, obstacles: [...removal.obstacles] };
      },
    });
    route(app, 'post', '/domains/:domain/disable', {
      needs: 'settings.change',
      about: [
        'domains',
        'Disable all addresses of a domain',
        'They are taken out of the directory, too; what is under way finishes.',
      ],
      answer: doneAnswer,
      handle: async (request) => {
        const disabled = await disableDomain(depsFor(request), request.params.domain);
        return {
          count: disabled.length,
          sentence: `${countOf(disabled.length, 'address', 'addresses')} disabled.`,
        };
      },
    });
    route(app, 'post', '/domains/:domain/remove', {
      needs: 'settings.change',
      about: [
        'domains',
        'Remove a domain',
        'With its addresses, anchors and bundles; keys are retired, and messages stay. Refused while it is in use.',
      ],
      body: removeRequest,
      answer: doneAnswer,
      refuses: [409],
      handle: async (request) => {
        const deps = depsFor(request);
        const domain = await requireHostedDomain(deps.trust, request.params.domain);
        if (request.body.domain.trim().toLowerCase() !== domain)
          throw invalidField('domain', 'Not the name of this domain.');
        const { addresses } = await removeDomain(deps, domain);
        return {
          count: addresses,
          sentence: `${domain} is removed, with ${countOf(addresses, 'address', 'addresses')}.`,
        };
      },
    });
  };
}
