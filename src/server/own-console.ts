import { silentAudit } from "../audit/audit.js";
import { ConsoleAccess } from "../console/access.js";
import { type RemoteAdmin, remoteAdmin, remoteOperator } from "../console/admin-upstream.js";
import { Console } from "../console/console.js";
import { LinkToken } from "../console/link-token.js";
import type { ConsoleAgent, ConsoleStart } from "../console/options.js";
import { CONSOLE_PATH } from "../console/path.js";
import { Relay } from "../console/relay.js";
import { defaultLimits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { StaticRoute } from "../http/dispatch.js";
import { createHostCheck } from "../http/hosts.js";
import { Connections } from "../http/node/connections.js";
import { createNodeHandler } from "../http/node/handler.js";
import { listen } from "../http/node/listen.js";
import { cannotListen } from "./cannot-listen.js";
import { linkAccess } from "./console.js";
import { createDispatch } from "./dispatch.js";
import { consoleBinding } from "./served-console.js";

export interface OwnConsoleOptions {
  readonly agents: readonly ConsoleAgent[];
  readonly start?: ConsoleStart | undefined;
  /** The operator's service of a server; undefined for none. */
  readonly admin?: RemoteAdmin | undefined;
  /** 0 for any free port. */
  readonly port: number;
  readonly logger: Logger;
  /** Receives each link after the first. */
  readonly onNextLink: (link: string) => void;
}

export interface OwnConsole {
  /** The link that opens it, once. */
  readonly link: string;
  close(): Promise<void>;
}

/** Address of the console, which only this machine reaches. */
const HOST = "127.0.0.1";

/** Time for open answers at the end, in milliseconds. */
const CLOSE_MS = 200;

/**
 * Opens a console on a loopback port.
 *
 * @throws ConfigurationError for a port that cannot be used; the system's error if the web app has not been built
 */
export async function openOwnConsole(options: OwnConsoleOptions): Promise<OwnConsole> {
  const { agents, start, admin, port, logger, onNextLink } = options;
  const limits = defaultLimits;
  let base = "";
  const linkOf = (token: string): string => `${base}/#token=${token}`;
  const link = new LinkToken((token) => onNextLink(linkOf(token)));
  const token = linkAccess(link, { limits, logger, audit: silentAudit });
  const console = new Console({
    access: new ConsoleAccess({ checks: { token }, peerOf: ({ peer }) => peer }),
    relay: new Relay(),
    admin: admin && remoteAdmin(admin),
    operator: admin && (() => remoteOperator(admin)),
    agents: () => agents,
    start,
    seenOf: (request) => ({ isSecure: false, host: request.header(":authority") ?? "", prefix: "" }),
    limits,
    logger,
  });
  const binding = consoleBinding(() => ({ console, link }));
  const dispatch = createDispatch({
    hosts: createHostCheck({ allowed: [] }),
    routes: [toConsole],
    bindings: [binding],
    fallback: { notFound: () => ({ status: 404 }), refuse: binding.refuse },
    basePath: "",
  });
  const connections = new Connections({ limits, trust: undefined, logger });
  const handler = createNodeHandler(dispatch, logger);
  const listener = await listen({ host: HOST, port, limits, logger, handler, connections }).catch((error) => {
    throw cannotListen(error, { host: HOST, port, option: "--port" });
  });
  base = `http://${HOST}:${listener.port}${CONSOLE_PATH}`;
  return {
    get link() {
      return linkOf(link.current);
    },
    close: () => {
      console.close();
      return listener.close(CLOSE_MS);
    },
  };
}

/** Leads from the root to the console. */
const toConsole: StaticRoute = ({ target }) =>
  target.path === "/" ? { status: 307, headers: [["location", "console/"]] } : undefined;
