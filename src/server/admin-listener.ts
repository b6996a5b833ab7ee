import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { operatorAudit } from "../admin/audit.js";
import { adminLimitsOf } from "../admin/limits.js";
import { ConfigurationError } from "../card/faults.js";
import { defined } from "../core/members.js";
import { Connections } from "../http/node/connections.js";
import { type Listener, listen } from "../http/node/listen.js";
import { type AdminComponents, composeAdmin } from "./admin.js";
import { cannotListen } from "./cannot-listen.js";
import { nodeRejectionLog } from "./compose-node.js";
import type { AdminSettings, Settings } from "./options.js";
import { authority } from "./public-address.js";

/** The open listener of the operator's service. */
export interface AdminListener extends Pick<Listener, "close" | "setTls"> {
  /** URL for operators on this machine, or `unix:` and the path of the socket. */
  readonly url: string;
}

/**
 * Opens the listener of the operator's service. A port uses the server's TLS files; a Unix socket needs none.
 *
 * @throws ConfigurationError for an address that cannot be used, or a tokens file that is invalid
 */
export async function openAdmin(
  settings: Settings,
  admin: AdminSettings,
  components: AdminComponents,
): Promise<AdminListener> {
  const { logger, tls } = settings;
  const address = defined(admin.address);
  const limits = adminLimitsOf(settings.limits);
  const { handler, onRejection, endStreams } = composeAdmin(settings, admin, components);
  const connections = new Connections({ limits, trust: undefined, logger, audit: operatorAudit(settings.audit) });
  const place =
    "socket" in address ? { host: "", port: 0, socket: address.socket } : { ...address, ...(tls && { tls }) };
  const listener = await listen({
    ...place,
    source: settings.worker?.source("admin"),
    limits,
    logger,
    handler,
    connections,
    onRejection: nodeRejectionLog(onRejection),
  }).catch((error: NodeJS.ErrnoException) => {
    if ("socket" in address) throw cannotOpen(address.socket, error);
    throw cannotListen(error, { ...address, option: "admin.listen (--admin)" });
  });
  return {
    url: adminUrl(settings, admin, listener),
    close: (graceMs) => {
      endStreams();
      return listener.close(graceMs);
    },
    setTls: (files) => listener.setTls(files),
  };
}

function adminUrl({ tls }: Settings, { address }: AdminSettings, { port }: Listener): string {
  const at = defined(address);
  if ("socket" in at) return `unix:${at.socket}`;
  return `${tls === undefined ? "http" : "https"}://${authority({ host: at.host, port })}`;
}

function cannotOpen(socket: string, error: NodeJS.ErrnoException): ConfigurationError {
  // Node.js reports a missing folder as EACCES.
  const faults: Record<string, string> = {
    EACCES: existsSync(dirname(socket))
      ? `the socket ${socket} needs permissions that this process does not have`
      : `the folder of the socket ${socket} does not exist`,
  };
  const fault = faults[error.code ?? ""] ?? error.message;
  return new ConfigurationError("Cannot listen", [`admin.listen (--admin): ${fault}`], error);
}
