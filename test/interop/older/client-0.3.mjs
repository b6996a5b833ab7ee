// Calls a server with the published JavaScript library for A2A 0.3. Finds it by the URL of its card. The first argument
// is the folder in which the library is installed. Prints a JSON object with the result of each step by name.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, url, transport, hook] = process.argv.slice(2);
const from = createRequire(join(folder, "package.json"));
const load = (name) => import(pathToFileURL(from.resolve(name)).href);
const client = await load("@a2a-js/sdk/client");
const { GrpcTransportFactory } = await load("@a2a-js/sdk/client/grpc");

let count = 0;
const say = (text, more = {}) => {
  const { configuration, ...message } = more;
  const parts = [{ kind: "text", text }];
  return {
    message: { kind: "message", messageId: `js-${++count}`, role: "user", parts, ...message },
    ...(configuration && { configuration }),
  };
};

const textsOf = ({ artifacts = [] }) => artifacts.flatMap(({ parts }) => parts.map(({ text }) => text ?? null));
const shown = (result) =>
  result.kind === "task"
    ? { kind: "task", id: result.id, state: result.status.state, texts: textsOf(result) }
    : { kind: result.kind, texts: result.parts.map(({ text }) => text) };

async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    return { error: error.constructor.name, message: String(error.message) };
  }
}

async function eventsOf(stream, each = async () => {}) {
  const events = [];
  for await (const event of stream) {
    events.push({
      kind: event.kind,
      state: event.status?.state,
      final: event.final,
      texts: event.artifact?.parts.map(({ text }) => text),
    });
    await each(event);
  }
  return events;
}

const factory = new client.ClientFactory(
  client.ClientFactoryOptions.createFrom(client.ClientFactoryOptions.default, {
    transports: [new GrpcTransportFactory()],
    preferredTransports: [transport],
  }),
);
const card = await new client.DefaultAgentCardResolver().resolve(url);
const agent = await factory.createFromAgentCard(card);
const seen = { card, transport: agent.transport.constructor.name };
const sent = await agent.sendMessage(say("hello"));
seen.sent = shown(sent);
seen.reply = shown(await agent.sendMessage(say("direct: hi")));
seen.streamed = await eventsOf(agent.sendMessageStream(say("write a long paper describing the attached pictures")));
seen.got = shown(await agent.getTask({ id: sent.id }));
const asked = await agent.sendMessage(say("buy me a new phone"));
seen.asked = shown(asked);
seen.answered = shown(await agent.sendMessage(say("Android", { taskId: asked.id, contextId: asked.contextId })));
const held = await agent.sendMessage(say("hold: on", { configuration: { blocking: false } }));
seen.held = shown(held);
const config = { taskId: held.id, pushNotificationConfig: { id: "p1", url: `${hook}/set`, token: "a-token" } };
seen.pushSet = (await agent.setTaskPushNotificationConfig(config)).pushNotificationConfig;
seen.pushGot = (
  await agent.getTaskPushNotificationConfig({ id: held.id, pushNotificationConfigId: "p1" })
).pushNotificationConfig;
const listed = await attempt(() => agent.listTaskPushNotificationConfig({ id: held.id }));
seen.pushListed = Array.isArray(listed)
  ? listed.map(({ pushNotificationConfig }) => pushNotificationConfig.url)
  : listed;
let canceled = false;
seen.watched = await eventsOf(agent.resubscribeTask({ id: held.id }), async () => {
  if (canceled) return;
  canceled = true;
  seen.canceled = shown(await agent.cancelTask({ id: held.id }));
});
seen.pushDeleted = await attempt(async () => {
  await agent.deleteTaskPushNotificationConfig({ id: held.id, pushNotificationConfigId: "p1" });
  return (await agent.listTaskPushNotificationConfig({ id: held.id })).length;
});
const pushNotificationConfig = { url: `${hook}/inline`, token: "b-token" };
seen.report = shown(
  await agent.sendMessage(
    say("Generate the Q1 sales report.", { configuration: { blocking: false, pushNotificationConfig } }),
  ),
);
seen.unknown = await attempt(() => agent.getTask({ id: "nobody" }));
seen.tooLate = await attempt(() => agent.cancelTask({ id: sent.id }));
seen.over = await attempt(() => agent.sendMessage(say("more", { taskId: sent.id })));
seen.extended = await attempt(async () => (await agent.transport.getExtendedAgentCard()).name);
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
