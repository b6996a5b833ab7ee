// A worker that calls the agent at a given URL, with the client as published on npm. Code at module scope runs before
// any request.
import { clientError, connect, createTransport, neverArrived } from "parley-a2a/client";
import { clientCredentials } from "parley-a2a/client/oauth";

/** Shared by all requests, as workers do. */
const kept = createTransport("JSONRPC", "https://agent.example");
const issuer = clientCredentials({ issuer: "https://issuer.example", clientId: "worker", clientSecret: "secret" });
let first;

async function said(agent, options) {
  const client = await connect(agent, options);
  const sent = await client.send("Ann");
  const kinds = [];
  for await (const { kind } of client.stream("Ann")) kinds.push(kind);
  await client.close();
  return { text: sent.text, kinds };
}

const failure = async (call) => {
  try {
    await call;
    return "none";
  } catch (thrown) {
    const { reason } = clientError(thrown);
    return neverArrived(thrown) ? `${reason}, unsent` : reason;
  }
};

export default {
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const agent = searchParams.get("agent");
    first ??= await connect(agent);
    const answers = {};
    for (const binding of ["JSONRPC", "HTTP+JSON", "CONNECT", "GRPC-WEB"]) {
      answers[binding] = await said(agent, { bindings: [binding] });
    }
    const cut = await failure(connect(searchParams.get("cut"), { limits: { maxAttempts: 1 } }));
    const again = (await first.send("Ann")).text;
    return Response.json({ answers, cut, again, made: [typeof kept.unary, typeof issuer] });
  },
};
