import { a2a } from "../../../a2a";

export const dynamic = "force-dynamic";
// Clients look for the card of a host here.
export const GET = (request: Request): Promise<Response> =>
  a2a.fetch(new Request(new URL("/agents/.well-known/agent-card.json", request.url)));
