// A program with little memory. It calls servers and reports the result of each call.
import { createClient } from "@connectrpc/connect";
import { A2AService, type Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Binding } from "../../../src/client/discovery/interfaces.js";
import { clientError } from "../../../src/client/errors/errors.js";
import * as onNode from "../../../src/client/index.js";
import * as onWeb from "../../../src/client/web.js";
import type { Kind } from "./server.js";

export interface Asked {
  readonly platform: "Node.js" | "web";
  readonly binding: Binding;
  readonly kind: Kind;
  /** Default: the current version. */
  readonly version: "0.1" | "0.3" | undefined;
  readonly url: string;
}

async function textOf({ platform, binding, kind, version, url }: Asked): Promise<unknown> {
  if (kind === "card") return nameOf(platform === "web" ? onWeb : onNode, url);
  const transport = (platform === "web" ? onWeb : onNode).createTransport(
    binding,
    url,
    version === undefined ? {} : { version },
  );
  const rpc = createClient(A2AService, transport);
  try {
    let task: Task | undefined;
    if (kind === "unary") task = await rpc.getTask({ id: "t" });
    else {
      for await (const { payload } of rpc.subscribeToTask({ id: "t" }))
        if (payload.case === "task") task = payload.value;
    }
    return String(task?.artifacts[0]?.parts[0]?.content.value).length;
  } catch (error) {
    return `${clientError(error).reason}: ${clientError(error).message}`;
  } finally {
    await transport.close();
  }
}

async function nameOf({ connect }: Pick<typeof onNode, "connect">, url: string): Promise<unknown> {
  try {
    const client = await connect(url);
    await client.close();
    return client.card.name.length;
  } catch (error) {
    return `${clientError(error).reason}: ${clientError(error).message.replace(url, "here")}`;
  }
}

process.on("message", (asked: Asked) => void textOf(asked).then((outcome) => process.send?.(outcome)));
process.send?.("ready");
