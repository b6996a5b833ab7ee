import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";

// `binary-writer.ts` by protobuf-es, for browsers: a page has few messages to write, and has to load what writes them.

/** The flag and the length that gRPC has before a message, in bytes. */
const HEAD = 5;

/** The writer of a message type in the binary format. @throws when a value is not of its field's type */
export function binaryWriter<Desc extends DescMessage>(desc: Desc): (message: MessageShape<Desc>) => Uint8Array {
  return (message) => toBinary(desc, message);
}

/** As `binaryWriter()`, with the flag and the length that gRPC has before a message. */
export function envelopeWriter<Desc extends DescMessage>(desc: Desc): (message: MessageShape<Desc>) => Uint8Array {
  return (message) => {
    const bytes = toBinary(desc, message);
    const enveloped = new Uint8Array(HEAD + bytes.length);
    new DataView(enveloped.buffer).setUint32(1, bytes.length);
    enveloped.set(bytes, HEAD);
    return enveloped;
  };
}

/** Nothing is written in pieces there. */
export function binaryFields(_: DescMessage): undefined {
  return undefined;
}
