import { a2a } from "../../../a2a";

const handler = (request: Request): Promise<Response> => a2a.fetch(request);

export { handler as DELETE, handler as GET, handler as OPTIONS, handler as POST };
