import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";

// `binary-writer.ts` with protobuf-es, for browsers. A page writes few messages, so a small download matters more than
// speed.

/** Size of gRPC's flag and length before a message, in bytes. */
const HEAD = 5;

/** Returns the binary writer of a message type. @throws if a value is not of its field's type */
export function binaryWriter<Desc extends DescMessage>(desc: Desc): (message: MessageShape<Desc>) => Uint8Array {
  return (message) => toBinary(desc, message);
}

/** Returns a writer like that of `binaryWriter()`, with gRPC's flag and length before the message. */
export function envelopeWriter<Desc extends DescMessage>(desc: Desc): (message: MessageShape<Desc>) => Uint8Array {
  return (message) => {
    const bytes = toBinary(desc, message);
    const enveloped = new Uint8Array(HEAD + bytes.length);
    new DataView(enveloped.buffer).setUint32(1, bytes.length);
    enveloped.set(bytes, HEAD);
    return enveloped;
  };
}

/** Always undefined, because browsers write no message in pieces. */
export function binaryFields(_: DescMessage): undefined {
  return undefined;
}
