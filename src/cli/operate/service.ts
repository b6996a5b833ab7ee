import { readFileSync } from "node:fs";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { AdminService } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { RemoteAdmin } from "../../console/admin-upstream.js";
import { attempt } from "../../core/members.js";
import { parseUrl } from "../../core/net.js";
import { UsageError, usageErrorOf } from "../command-error.js";
import type { Io } from "../io.js";
import { explained } from "./errors.js";
import { OutputClosed } from "./io.js";

export interface ReachFlags {
  readonly admin?: string;
  readonly adminTokenFile?: string;
  readonly store?: string;
  /** Seconds; 0 for no limit. */
  readonly timeout: number;
  readonly audit?: string;
  readonly json: boolean;
}

export interface Service {
  readonly client: Client<typeof AdminService>;
  /** Address of the server, or path of the file. */
  readonly place: string;
  close(): Promise<void>;
}

/** Runs a command on the operator's service. Its errors are those of the command. */
export async function withService(
  flags: ReachFlags,
  io: Io,
  work: (client: Service["client"], service: Service) => Promise<void>,
): Promise<void> {
  const service = await openService(flags, io);
  try {
    await work(service.client, service);
  } catch (error) {
    // A reader that closes the pipe, such as head, is not an error.
    if (!(error instanceof OutputClosed)) throw explained(error, service);
  } finally {
    await service.close();
  }
}

/** @throws CommandError */
async function openService(flags: ReachFlags, io: Io): Promise<Service> {
  const admin = flags.admin ?? (flags.store === undefined ? io.env.PARLEY_ADMIN : undefined);
  if (flags.store !== undefined) {
    if (admin !== undefined) throw new UsageError("give --admin or --store, not both");
    // Only a file needs the parts of a server.
    const { openFile } = await import("./file-service.js");
    const { store, audit = "stderr", timeout } = flags;
    const { transport, close } = await openFile(store, { audit, timeout, bearer });
    return { client: createClient(AdminService, transport), place: store, close };
  }
  const target = adminTarget(flags, io);
  if (admin === undefined || target === undefined) {
    throw new UsageError(
      "name the server (--admin or PARLEY_ADMIN: a URL, host:port, or unix: and a path)" +
        " or a file that no server has open (--store)",
    );
  }
  const { baseUrl, socketPath, token } = target;
  const { createConnectTransport } = await import("@connectrpc/connect-node");
  const end = new AbortController();
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: "1.1",
    interceptors: [endingWith(end.signal), ...(token === undefined ? [] : [bearer(token)])],
    ...(flags.timeout > 0 && { defaultTimeoutMs: flags.timeout * 1_000 }),
    ...(socketPath !== undefined && { nodeOptions: { socketPath } }),
  });
  return { client: createClient(AdminService, transport), place: admin, close: async () => end.abort() };
}

/** Returns the server that the flags or the variables name, or undefined. @throws CommandError */
export function adminTarget(flags: Pick<ReachFlags, "admin" | "adminTokenFile">, io: Io): RemoteAdmin | undefined {
  const admin = flags.admin ?? io.env.PARLEY_ADMIN;
  if (admin === undefined || admin === "") return undefined;
  return { token: tokenOf(flags, io), ...addressOf(admin) };
}

/** Ends all calls at a signal. Leaving the loop over a stream of Connect does not, and it would keep the process alive. */
const endingWith =
  (end: AbortSignal): Interceptor =>
  (next) =>
  (request) =>
    next({ ...request, signal: AbortSignal.any([request.signal, end]) });

const bearer =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };

/** A token from the file of the flag, or from the variable. Errors do not contain it. @throws CommandError */
function tokenOf({ adminTokenFile: file }: Pick<ReachFlags, "adminTokenFile">, { env }: Io): string | undefined {
  const unreadable = usageErrorOf(`--admin-token-file: cannot read ${file}: `);
  const given =
    file === undefined ? env.PARLEY_ADMIN_TOKEN : attempt(() => readFileSync(file, "utf8").trim(), unreadable);
  if (given === undefined || given === "") return undefined;
  if (/^[\w.~+/=-]+$/.test(given)) return given;
  const name = file === undefined ? "PARLEY_ADMIN_TOKEN" : `--admin-token-file ${file}`;
  throw new UsageError(`${name} is not a token: it must be the token alone, without its name and role`);
}

/** @throws CommandError */
function addressOf(admin: string): { readonly baseUrl: string; readonly socketPath?: string } {
  if (admin.startsWith("unix:")) return { baseUrl: "http://localhost", socketPath: admin.slice("unix:".length) };
  const hasScheme = /^https?:\/\//i.test(admin);
  const url = parseUrl(hasScheme ? admin : `http://${admin}`);
  const isAddress = hasScheme || /^(\[[\da-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(admin);
  if (url === undefined || !isAddress || url.username !== "" || url.password !== "" || url.search + url.hash !== "") {
    throw new UsageError("--admin is not an address: give a URL, host:port, or unix: and a path");
  }
  return { baseUrl: url.href.replace(/\/+$/, "") };
}
