import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Server } from "@grpc/grpc-js";
import type { Limits } from "../../core/limits.js";
import { watchStreams } from "../../http/node/slow-streams.js";
import { renewStreamTables } from "../../http/node/stream-tables.js";

type OnSession = (session: ServerHttp2Session) => void;

/**
 * Breaks off connections whose session was destroyed and that are open all the same: Node leaves them so when a session
 * ends in the middle of a flood, and reads on for nobody. grpc-js does not look after what it destroyed. While a session
 * lives, its tables are renewed.
 *
 * Streams whose answers nobody takes are broken off, too. A connection has from one to two times `keepAliveMs` to end by
 * itself.
 *
 * @returns what takes a connection over, to be called instead of `serve`.
 */
export function guardSessions(
  server: Server,
  limits: Pick<Limits, "keepAliveMs" | "stalledReaderMs" | "minReaderBytes">,
): (serve: (socket: Socket) => void) => (socket: Socket) => void {
  const open = new Map<ServerHttp2Session, { readonly socket: Socket; isOver: boolean }>();
  const look = (): void => {
    for (const [session, entry] of open) {
      if (entry.isOver) entry.socket.destroy();
      entry.isOver = session.destroyed;
    }
  };
  let sweep: NodeJS.Timeout | undefined;
  let begun: ServerHttp2Session | undefined;
  notice(server, (session) => {
    begun = session;
    renewStreamTables(session);
    watchStreams(session, limits);
  });
  return (serve) => (socket) => {
    begun = undefined;
    // The session comes into being within the call, if it does.
    serve(socket);
    const session = begun;
    if (session === undefined) return;
    open.set(session, { socket, isOver: false });
    sweep ??= setInterval(look, limits.keepAliveMs).unref();
    socket.once("close", () => {
      open.delete(session);
      if (open.size > 0) return;
      clearInterval(sweep);
      sweep = undefined;
    });
  };
}

/** Tells of new sessions. Where a later version of grpc-js has no such function, none is told of. */
function notice(server: Server, told: OnSession): void {
  const hidden = server as unknown as { _sessionHandler?: (http2Server: unknown) => OnSession };
  const handlerFor = hidden._sessionHandler;
  if (typeof handlerFor !== "function") return;
  hidden._sessionHandler = (http2Server) => {
    const handle = handlerFor.call(server, http2Server);
    return (session) => {
      told(session);
      handle(session);
    };
  };
}
