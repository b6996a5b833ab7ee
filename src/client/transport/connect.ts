import type { Transport } from "@connectrpc/connect";
import type { CommonTransportOptions, UniversalClientFn } from "@connectrpc/connect/protocol";
import { createTransport as connectProtocol } from "@connectrpc/connect/protocol-connect";
import { createTransport as grpcWebProtocol } from "@connectrpc/connect/protocol-grpc-web";
import { concat } from "../../core/bytes.js";
import { clientError, connectErrorOf } from "../errors.js";
import type { HttpClient, TransportSettings } from "../platform.js";

/** The Connect protocol, in binary. */
export function connectTransport(settings: TransportSettings, http: HttpClient): Transport {
  return connectProtocol(optionsOf(settings, http));
}

/** gRPC-Web, in binary. */
export function grpcWebTransport(settings: TransportSettings, http: HttpClient): Transport {
  return grpcWebProtocol(optionsOf(settings, http));
}

/** The largest request, in bytes: what the library's own options take. Servers have smaller limits. */
const MAX_REQUEST_BYTES = 0xffffffff;

function optionsOf({ url, interceptors, maxAnswerBytes }: TransportSettings, http: HttpClient): CommonTransportOptions {
  return {
    baseUrl: url,
    interceptors: [...interceptors],
    httpClient: universal(http),
    useBinaryFormat: true,
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 0,
    readMaxBytes: maxAnswerBytes,
    writeMaxBytes: MAX_REQUEST_BYTES,
  };
}

/** The library's idea of HTTP by ours. A request has one message, and browsers cannot send it in pieces. */
function universal(http: HttpClient): UniversalClientFn {
  return async ({ url, method, header, body, signal }) => {
    try {
      const whole = body === undefined ? undefined : await bytesOf(body);
      const answer = await http({
        url,
        method,
        headers: header,
        ...(whole === undefined ? {} : { body: whole }),
        ...(signal === undefined ? {} : { signal }),
      });
      return { status: answer.status, header: answer.headers, body: pieces(answer.chunks()), trailer: new Headers() };
    } catch (error) {
      throw connectErrorOf(clientError(error));
    }
  };
}

async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  const [first] = parts;
  return parts.length === 1 && first?.buffer instanceof ArrayBuffer
    ? (first as Uint8Array<ArrayBuffer>)
    : concat(parts);
}

async function* pieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw connectErrorOf(clientError(error));
  }
}
