/** The client of @a2a-js/sdk, as `caller.ts` measures it. */

import { randomUUID } from "node:crypto";
import { type AgentCard, SendMessageRequest } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";

export async function sdkSay(card: object, binding: string): Promise<(text: string) => Promise<string>> {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new GrpcTransportFactory()],
    preferredTransports: [binding],
  });
  const { AgentCard } = await import("@a2a-js/sdk");
  const client = await new ClientFactory(options).createFromAgentCard(AgentCard.fromJSON(card) as AgentCard);
  return async (text) => {
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
    const answer = await client.sendMessage(SendMessageRequest.fromJSON({ message, configuration: {} }));
    const [part] = "messageId" in answer ? answer.parts : [];
    return part?.content?.$case === "text" ? part.content.value : "";
  };
}
