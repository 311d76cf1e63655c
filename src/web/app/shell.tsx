import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { ApiError, remove } from '../api/client.ts';
import { useLiveState } from '../api/live.ts';
import { leaveSession, useSession } from '../api/session.ts';
import { useAnnounce } from '../components/announce.tsx';
import { Icon, Wordmark } from '../components/icon.tsx';
import { HelpDialog } from './help-dialog.tsx';
import { useKeyboard } from './keyboard.ts';
import { StaleNote } from './stale-note.tsx';
import { listScreens, type ScreenEntry } from './screens.tsx';
import { themes, useTheme } from './theme.ts';

/** The frame of every screen: skip link, navigation, the signed-in operator, and keyboard shortcuts. */
export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const [location, setLocation] = useLocation();
  const [isHelpShown, setHelpShown] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const open = useCallback(
    (path: string) => {
      setLocation(path);
      main.current?.focus();
    },
    [setLocation],
  );
  const showHelp = useCallback(() => setHelpShown(true), []);
  const session = useSession();
  const screens = useMemo(() => listScreens(session), [session]);
  useKeyboard({ open, showHelp, screens });
  const shownAt = useRef(location);
  useEffect(() => {
    setMenuOpen(false);
    if (shownAt.current === location) return;
    shownAt.current = location;
    // The link that was followed is gone with its screen: without this a screen reader stays silent, and Tab
    // begins at the top.
    if (document.activeElement === document.body) main.current?.focus();
  }, [location]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={() => main.current?.focus()}>
        Skip to the content
      </a>
      <header className="side" data-open={isMenuOpen}>
        <Brand />
        <button
          type="button"
          className="menu-button"
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name={isMenuOpen ? 'close' : 'menu'} />
          <span className="visually-hidden">Menu</span>
        </button>
        <div className="menu" id="menu">
          <Navigation location={location} />
          <Account onHelp={showHelp} />
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <StaleNote />
        {children}
      </main>
      {isHelpShown && <HelpDialog onClose={() => setHelpShown(false)} />}
    </div>
  );
}

function Brand(): ReactNode {
  const { hisp, isSandbox } = useSession();
  return (
    <div className="brand">
      <Link href="/" className="brand-name">
        <Wordmark />
      </Link>
      {isSandbox && <span className="tag">sandbox</span>}
      <span className="brand-host">{hisp.hostname}</span>
    </div>
  );
}

function Navigation({ location }: { readonly location: string }): ReactNode {
  const session = useSession();
  const groups = Map.groupBy(listScreens(session), ({ group }) => group);
  return (
    <nav aria-label="Screens">
      {[...groups].map(([group, entries]) => (
        <ul key={group} aria-label={group}>
          {entries.map((entry) => (
            <li key={entry.name}>
              <Link href={entry.paths[0]} aria-current={isAt(entry, location) ? 'page' : undefined}>
                <Icon name={entry.icon} />
                <span>{entry.name}</span>
                <kbd aria-hidden="true">g {entry.letter}</kbd>
              </Link>
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
}

function isAt({ paths: [first] }: ScreenEntry, location: string): boolean {
  return first === '/' ? location === '/' : location === first || location.startsWith(`${first}/`);
}

const liveWords = { connecting: 'Connecting', live: 'Live', lost: 'No connection; reconnecting' } as const;

function Account({ onHelp }: { readonly onHelp: () => void }): ReactNode {
  const { operator, version } = useSession();
  const live = useLiveState();
  const [theme, setTheme] = useTheme();
  const client = useQueryClient();
  const announce = useAnnounce();
  const signOut = useMutation<void, Error>({
    mutationFn: () => remove('/session'),
    onSuccess: () => leaveSession(client, 'signed-out'),
    onError: (error) => {
      // A session that has ended already is what was asked for, and the sign-in page is shown.
      if (error instanceof ApiError && error.status === 401) return;
      const isUnknown = error instanceof ApiError && error.status === 0;
      const text = isUnknown
        ? 'You may still be signed in: the server did not answer. Try again.'
        : `You are still signed in. ${error.message}`;
      announce({ text, tone: 'failed' });
    },
  });
  return (
    <div className="account">
      <p className="live" data-live={live} role="status">
        <span className="live-dot" aria-hidden="true" /> {liveWords[live]}
      </p>
      <p className="who">
        <Link href="/sessions">{operator.name}</Link>
        <span>
          {operator.role}
          {operator.organization !== null && ` of ${operator.organization.name}`}
        </span>
      </p>
      <div className="theme" role="group" aria-label="Theme">
        {themes.map((name) => (
          <button key={name} type="button" aria-pressed={theme === name} onClick={() => setTheme(name)}>
            {name[0]?.toUpperCase()}
            {name.slice(1)}
          </button>
        ))}
      </div>
      <p className="account-links">
        <button type="button" className="link" onClick={onHelp}>
          Keys <kbd aria-hidden="true">?</kbd>
        </button>
        <button type="button" className="link" disabled={signOut.isPending} onClick={() => signOut.mutate()}>
          Sign out
        </button>
        <span className="faint">{version}</span>
      </p>
    </div>
  );
}
