import { type DescMethod, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { Client, type ClientReadableStream, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { A2AService as A2AService03 } from "../../../gen/a2a/v1/a2a_pb.js";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Request } from "./case.js";

/** The methods of both contracts, by their paths. */
const methods: ReadonlyMap<string, DescMethod> = new Map<string, DescMethod>(
  [A2AService, A2AService03].flatMap((service) =>
    service.methods.map((method) => [`/${service.typeName}/${method.name}`, method] as const),
  ),
);

/** Result of a call: its status by name, and the messages in proto3 JSON. */
export interface GrpcOutcome {
  readonly status: string;
  /** Metadata and trailers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly messages: readonly JsonValue[];
  readonly isStream: boolean;
}

export interface GrpcHooks {
  /** Runs once the stream is open. */
  readonly opened: () => Promise<void>;
  /** Leaves when so many messages are here. */
  readonly leaveAfter: number | undefined;
  /** Milliseconds until the call counts as hanging. */
  readonly patience: number;
}

/** Calls the services of 1.0 and 0.3 with grpc-js. */
export class GrpcClient {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure());
  }

  close(): void {
    this.#client.close();
  }

  async call({ path, headers, body }: Request, hooks: GrpcHooks): Promise<GrpcOutcome> {
    const desc = methods.get(path);
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    // A method that the service does not have is called with nothing.
    const bytes = desc === undefined ? new Uint8Array() : toBinary(desc.input, fromJson(desc.input, body ?? {}));
    const isStream = desc?.methodKind === "server_streaming";
    const call = this.#client.makeServerStreamRequest<Buffer, Buffer>(
      path,
      (value) => value,
      (value) => value,
      Buffer.from(bytes),
      metadata,
      { deadline: Date.now() + hooks.patience },
    );
    const messages: JsonValue[] = [];
    const got: Record<string, string> = {};
    const note = (from: Metadata): void => {
      for (const name of Object.keys(from.getMap())) got[name] = from.get(name).join(", ");
    };
    call.on("metadata", note);
    call.on("status", ({ metadata: trailers }) => note(trailers));
    const code = await read(call, hooks, (value) => {
      if (desc !== undefined) messages.push(toJson(desc.output, fromBinary(desc.output, value)));
      return messages.length;
    });
    return { status: status[code] ?? `${code}`, headers: got, messages, isStream };
  }
}

/** Reads to the end, or until enough is here. Unary calls are read in the same way: on the wire they are streams of one message. */
async function read(
  call: ClientReadableStream<Buffer>,
  { opened, leaveAfter }: GrpcHooks,
  take: (value: Buffer) => number,
): Promise<number> {
  let during: Promise<void> | undefined;
  call.on("metadata", () => {
    during ??= opened();
    // The `await` below throws the rejection.
    during.catch(() => {});
  });
  try {
    for await (const value of call as AsyncIterable<Buffer>) {
      if (take(value) === leaveAfter) break;
    }
    await during;
    return status.OK;
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    return (error as ServiceError).code;
  } finally {
    call.on("error", () => {});
    call.cancel();
  }
}
