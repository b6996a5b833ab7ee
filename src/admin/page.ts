import { createHash } from "node:crypto";
import { create, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { invalid } from "../core/error.js";
import { type KeyOf, type Kinds, keyIn, tokenOf } from "../service/page-token.js";

/** Default and maximum number of items on a page. */
const sizes = { default: 100, max: 1_000 } as const;

/** The fields by which a request asks for a page. */
type PageRequest = Message & { readonly pageSize: number; readonly pageToken: string };

/** The page that a request asks for. */
interface Page<Key> {
  readonly limit: number;
  /** Key of the last item of the page before; undefined for the first page. */
  readonly after: Key | undefined;
  /** Returns the token of the page after the item with this key; empty if no page follows. */
  token(last: Key | undefined): string;
}

/**
 * Returns the page that a list request asks for. A token is bound to the request's filters, and grants nothing: filters
 * apply to every page.
 *
 * @param kinds types of the values of the list's keys, such as `["number", "string"]`
 * @throws A2AError INVALID_PARAMS for a size outside 1 to 1,000, and for a token that this method did not create for
 * the same filters
 */
export function pageOf<const T extends readonly (keyof Kinds)[]>(
  desc: DescMessage,
  request: PageRequest,
  kinds: T,
): Page<KeyOf<T>> {
  const { pageSize, pageToken } = request;
  if (pageSize < 0 || pageSize > sizes.max) {
    throw invalid([{ field: "pageSize", description: `must be from 1 to ${sizes.max}` }]);
  }
  const bound = digestOf(desc, request);
  return {
    limit: pageSize === 0 ? sizes.default : pageSize,
    after: pageToken === "" ? undefined : keyIn(pageToken, kinds, bound),
    token: (last) => (last === undefined ? "" : tokenOf(last, bound)),
  };
}

/** Computes a digest of the filters, which only detects mistakes. */
function digestOf(desc: DescMessage, request: PageRequest): string {
  const filters = create(desc, { ...request, pageSize: 0, pageToken: "" });
  return createHash("sha256").update(desc.typeName).update(toBinary(desc, filters)).digest("base64url").slice(0, 16);
}
