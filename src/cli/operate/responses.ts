import { create, type DescMethodUnary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { AdminService } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Io } from "../io.js";
import { lookOf } from "../look.js";
import { type Cell, type Column, table } from "../table.js";
import { jsonLine } from "./format.js";
import { print, remark } from "./io.js";
import { type ReachFlags, type Service, withService } from "./service.js";

type ResponseOf<M extends DescMethodUnary> = MessageShape<M["output"]>;

/** Type of the items in a field of an answer. */
type ItemOf<M extends DescMethodUnary, F extends keyof ResponseOf<M>> = ResponseOf<M>[F] extends readonly (infer T)[]
  ? T
  : never;

export const methods: (typeof AdminService)["method"] = AdminService.method;

/** The most items that the service gives in a page. */
const PAGE = 1_000;

/**
 * Calls a method, and prints its answer: as JSON, or as lines of text.
 *
 * @param check throws for an answer that is a failure, after it was printed
 */
export function printAnswer<M extends DescMethodUnary>(
  io: Io,
  flags: ReachFlags,
  method: M,
  request: MessageInitShape<M["input"]>,
  linesOf: (answer: ResponseOf<M>) => readonly string[],
  check?: (answer: ResponseOf<M>) => void,
): Promise<void> {
  return withService(flags, io, async (client) => {
    const answer = await call(client, method, request);
    const lines = flags.json ? [] : linesOf(answer).map((line) => `${line}\n`);
    await print(io, flags.json ? jsonLine(method.output, answer) : lines.join(""));
    check?.(answer);
  });
}

/** A list of the service, and how it is shown. */
interface ListText<M extends DescMethodUnary, F extends keyof ResponseOf<M>> {
  readonly request?: MessageInitShape<M["input"]>;
  /** Field of the answer with the items. */
  readonly items: F;
  readonly limit: number;
  readonly columns: readonly Column[];
  readonly row: (item: ItemOf<M, F>) => Cell[];
  /** Printed instead of an empty table. */
  readonly none: string;
}

/** Reads a list up to a limit, and prints it as a table, or as one JSON object. */
export function printList<M extends DescMethodUnary, F extends keyof ResponseOf<M> & string>(
  io: Io,
  flags: ReachFlags,
  method: M,
  { request, items, limit, columns, row, none }: ListText<M, F>,
): Promise<void> {
  return withService(flags, io, async (client) => {
    const { all, nextPageToken } = await readPages(client, method, items, { limit, ...(request && { request }) });
    if (flags.json) {
      const answer = { [items]: all, nextPageToken } as unknown as MessageInitShape<M["output"]>;
      return print(io, jsonLine(method.output, create(method.output, answer)));
    }
    if (all.length === 0) remark(io, none);
    else await print(io, `${table(columns, all.map(row), lookOf(io.stdout)).join("\n")}\n`);
    if (nextPageToken !== "") remark(io, "there are more; --limit allows a longer list");
  });
}

/**
 * Reads a list up to a limit. A page may be short or empty although more follow.
 * @returns the items, and the token of the next page; empty if there is none
 */
export async function readPages<M extends DescMethodUnary, F extends keyof ResponseOf<M> & string>(
  client: Service["client"],
  method: M,
  items: F,
  { request, limit }: { readonly request?: MessageInitShape<M["input"]>; readonly limit: number },
): Promise<{ readonly all: ItemOf<M, F>[]; readonly nextPageToken: string }> {
  const all: ItemOf<M, F>[] = [];
  for (let pageToken = ""; ; ) {
    const asked = { ...request, pageSize: Math.min(PAGE, limit - all.length), pageToken };
    const page = await call(client, method, asked as unknown as MessageInitShape<M["input"]>);
    all.push(...(page[items] as ItemOf<M, F>[]));
    pageToken = (page as { readonly nextPageToken?: string }).nextPageToken ?? "";
    if (pageToken === "" || all.length >= limit) return { all, nextPageToken: pageToken };
  }
}

function call<M extends DescMethodUnary>(
  client: Service["client"],
  { localName }: M,
  request: MessageInitShape<M["input"]>,
): Promise<ResponseOf<M>> {
  const method = client[localName as keyof Service["client"]] as (request: unknown) => unknown;
  return method(request) as Promise<ResponseOf<M>>;
}
