/** A frame of HTTP/2 (RFC 9113, 4.1). */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export const END_STREAM = 1;
export const END_HEADERS = 4;

export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

export const preface: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Start of a connection: the preface and empty settings. */
export const begun: Buffer = Buffer.concat([preface, frame(SETTINGS, 0, 0)]);

/** Start of a connection whose client allows 2 GiB on each stream and on the connection. */
export const greedy: Buffer = Buffer.concat([
  preface,
  frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])),
  frame(WINDOW_UPDATE, 0, 0, Buffer.from([0x7f, 0xff, 0, 0])),
]);

/** Header fields without any compression (RFC 7541, 6.2.2); values of up to 126 bytes. */
export function fields(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string): number[] => [value.length, ...Buffer.from(value)];
  return Buffer.from(Object.entries(headers).flatMap(([name, value]) => [0, ...text(name), ...text(value)]));
}

/** A request of HTTP/2 on a stream, its body in one piece, unless it is left open. */
export function request(stream: number, headers: Readonly<Record<string, string>>, body?: Uint8Array): Buffer {
  const all = fields({ ":method": "POST", ":scheme": "http", ":authority": "localhost", ...headers });
  if (body === undefined) return frame(HEADERS, END_HEADERS | END_STREAM, stream, all);
  return Buffer.concat([frame(HEADERS, END_HEADERS, stream, all), frame(DATA, END_STREAM, stream, body)]);
}
