export const GET = (): Response => new Response("An app of its own.");
