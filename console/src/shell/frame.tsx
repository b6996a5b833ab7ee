import { Dialog } from "@base-ui/react/dialog";
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { LogOut, Menu, MessageSquare } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { logOut, type Session, sessionQuery } from "../api/session.js";
import { words } from "../texts/words.js";
import { Button, css as ui } from "../ui/parts.js";
import { LoginPage } from "./login.js";
import { type NavigationItem, operateItems, talkItems } from "./navigation.js";
import css from "./shell.module.css";
import { Shortcuts } from "./shortcuts.js";
import { ThemeButton } from "./theme.js";

/** The frame of all pages, or the login without a session. */
export function Frame(): ReactNode {
  const { data } = useSuspenseQuery(sessionQuery);
  return "session" in data ? <Framed session={data.session} /> : <LoginPage ways={data.login} />;
}

function Framed({ session }: { readonly session: Session }): ReactNode {
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(pathname);
  // Readers of the screen hear the new page.
  useEffect(() => {
    if (shown.current !== pathname) main.current?.focus();
    shown.current = pathname;
  }, [pathname]);
  return (
    <>
      <button type="button" className={css.skip} onClick={() => main.current?.focus()}>
        {words.skip}
      </button>
      <Drawer session={session} path={pathname} />
      <div className={css.frame}>
        <nav className={css.side} aria-label={words.console}>
          <Navigation session={session} />
        </nav>
        <main ref={main} id="main" className={css.main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      <Shortcuts withAdmin={session.admin} />
    </>
  );
}

/** The navigation of narrow screens. It closes when the page changes. */
function Drawer({ session, path }: { readonly session: Session; readonly path: string }): ReactNode {
  const [openAt, setOpenAt] = useState<string>();
  return (
    <header className={css.bar}>
      <Dialog.Root open={openAt === path} onOpenChange={(open) => setOpenAt(open ? path : undefined)}>
        <Dialog.Trigger render={<Button kind="plain" icon title={words.menu} />}>
          <Menu size={18} aria-hidden="true" />
        </Dialog.Trigger>
        <Dialog.Portal>
          <Dialog.Backdrop className={ui.backdrop} />
          <Dialog.Popup className={css.drawer} aria-label={words.menu}>
            <Navigation session={session} />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <strong>{words.product}</strong>
    </header>
  );
}

function Navigation({ session }: { readonly session: Session }): ReactNode {
  const queries = useQueryClient();
  return (
    <>
      <Link to="/" className={css.brand}>
        <MessageSquare size={20} aria-hidden="true" />
        {words.product}
      </Link>
      <Group title={words.talk} items={talkItems} />
      {session.admin && <Group title={words.operate} items={operateItems} />}
      <div className={css.foot}>
        <span className={`${ui.soft} ${ui.small}`}>
          {session.operator.name} · {session.operator.role}
        </span>
        <div className={ui.row}>
          <ThemeButton />
          <Button kind="plain" icon title={words.logOut} onClick={() => void logOut(queries)}>
            <LogOut size={16} aria-hidden="true" />
          </Button>
          <span className={`${ui.soft} ${ui.small}`}>{session.version}</span>
        </div>
      </div>
    </>
  );
}

function Group({ title, items }: { readonly title: string; readonly items: readonly NavigationItem[] }): ReactNode {
  return (
    <div className={css.group}>
      <h2>{title}</h2>
      {items.map(({ to, name, icon: Icon }) => (
        <Link key={to} to={to} className={css.link} activeProps={{ "aria-current": "page" }}>
          <Icon size={16} aria-hidden="true" />
          {name}
        </Link>
      ))}
    </div>
  );
}
