import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { A2AClient } from "../../src/client/client.js";
import { cardJson, serveCards } from "./card-server.js";
import { connect } from "./world.js";

/** Connects to a server that streams some events. It answers other calls with the result for their method. */
export async function serverOf(
  binding: string,
  events: readonly unknown[],
  results: Record<string, unknown> = {},
): Promise<A2AClient> {
  const answer = (body: string, target: string, response: ServerResponse): void => {
    const { id, method = "" } = (body === "" ? {} : JSON.parse(body)) as { id?: number; method?: string };
    const wrap = (result: unknown) => JSON.stringify(binding === "JSONRPC" ? { jsonrpc: "2.0", id, result } : result);
    if (method === "SendStreamingMessage" || target.endsWith(":stream")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(events.map((event) => `event: message\ndata: ${wrap(event)}\n\n`).join(""));
      return;
    }
    const name = method || Object.keys(results).find((each) => target.includes(each)) || "";
    response.writeHead(200, { "content-type": "application/json" }).end(wrap(results[name]));
  };
  const { url } = await serveCards((request, response) => {
    void text(request).then((body) => answer(body, request.url ?? "", response));
  });
  const supportedInterfaces = [{ url, protocolBinding: binding, protocolVersion: "1.0" }];
  return connect(cardJson({ supportedInterfaces, capabilities: { streaming: true } }));
}
