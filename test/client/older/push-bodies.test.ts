import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { cardJson, serveCards } from "../card-server.js";
import { connect } from "../world.js";

const taken = {
  name: "tasks/t/pushNotificationConfigs/p",
  pushNotificationConfig: { id: "p", url: "https://a.example/" },
};

/** A server of 0.3 over HTTP+JSON that accepts push configs in one of the two forms in use. */
async function serverOf(member: string) {
  const bodies: Record<string, unknown>[] = [];
  const { url } = await serveCards((request, response) => {
    void text(request).then((body) => {
      const json = JSON.parse(body) as Record<string, unknown>;
      bodies.push(json);
      const isTaken = json[member] !== undefined;
      const refusal = { code: -32602, message: `There is no ${member}.` };
      response.writeHead(isTaken ? 201 : 400, { "content-type": "application/json" });
      response.end(JSON.stringify(isTaken ? taken : refusal));
    });
  });
  const supportedInterfaces = [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "0.3" }];
  const client = await connect(cardJson({ supportedInterfaces, capabilities: { pushNotifications: true } }));
  return { client, bodies };
}

const config = { taskId: "t", id: "p", url: "https://a.example/" };

describe("createTaskPushNotificationConfig() of 0.3 over HTTP+JSON", () => {
  it.each([
    ["the whole request, as Python's server does", "config", 1],
    ["the config alone, as that of @a2a-js/sdk does", "pushNotificationConfig", 2],
  ])("is taken by a server that reads %s", async (_, member, calls) => {
    const { client, bodies } = await serverOf(member);
    expect(await client.createTaskPushNotificationConfig(config)).toMatchObject(config);
    expect(bodies).toHaveLength(calls);
    const [last] = bodies.slice(-1);
    expect(last?.[member]).toMatchObject(member === "config" ? taken : taken.pushNotificationConfig);
  });

  it("fails with the first refusal where a server takes neither", async () => {
    const { client, bodies } = await serverOf("neither");
    const failing = client.createTaskPushNotificationConfig(config);
    await expect(failing).rejects.toMatchObject({ reason: "INVALID_PARAMS", message: "There is no neither." });
    expect(bodies.map((body) => Object.keys(body)[0])).toEqual(["parent", "name"]);
  });
});
