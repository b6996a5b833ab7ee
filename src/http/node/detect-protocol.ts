import type { Socket } from "node:net";

/** What an HTTP/2 client sends first; HTTP/1.1 has no such method (RFC 9113, 3.4). */
const HTTP2_PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** The protocol of a connection without TLS. */
export type Protocol = "http1" | "http2";

/**
 * Reads the first bytes of a connection, puts them back and reports the protocol. The bytes may arrive in pieces; a client
 * that has not sent enough after `timeoutMs` milliseconds, or ends the connection before, is disconnected.
 *
 * @param decided is called once, without a protocol for a connection that is closed before
 * @returns a function that closes the connection; it does nothing once the protocol is known.
 */
export function detectProtocol(
  socket: Socket,
  timeoutMs: number,
  decided: (protocol: Protocol | undefined) => void,
): () => void {
  let seen: Buffer | undefined;
  let open = true;
  const giveUp = (): void => {
    if (!open) return;
    stop();
    socket.destroy();
    decided(undefined);
  };
  const timer = setTimeout(giveUp, timeoutMs);
  const stop = (): void => {
    open = false;
    clearTimeout(timer);
    socket.off("readable", look).off("end", giveUp).off("error", giveUp).off("close", giveUp);
  };
  const look = (): void => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = seen === undefined ? chunk : Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === undefined) return;
    stop();
    socket.unshift(seen);
    decided(protocol);
  };
  socket.on("readable", look).on("end", giveUp).on("error", giveUp).on("close", giveUp);
  return giveUp;
}

function protocolOf(seen: Buffer): Protocol | undefined {
  const length = Math.min(seen.length, HTTP2_PREFACE.length);
  if (seen.compare(HTTP2_PREFACE, 0, length, 0, length) !== 0) return "http1";
  return length === HTTP2_PREFACE.length ? "http2" : undefined;
}
