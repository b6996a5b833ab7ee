/** A page of a list of the service. */
interface Page {
  readonly nextPageToken: string;
}

/** The most items that the service gives in a page. */
const PAGE = 1_000;

/**
 * Reads a list up to a limit. A page may be short or empty although more follow.
 * @returns the items, and the token of the next page; empty if there is none
 */
export async function readPages<P extends Page, T>(
  limit: number,
  read: (page: { readonly pageSize: number; readonly pageToken: string }) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
): Promise<{ readonly items: T[]; readonly nextPageToken: string }> {
  const items: T[] = [];
  for (let pageToken = ""; ; ) {
    const page = await read({ pageSize: Math.min(PAGE, limit - items.length), pageToken });
    items.push(...itemsOf(page));
    pageToken = page.nextPageToken;
    if (pageToken === "" || items.length >= limit) return { items, nextPageToken: pageToken };
  }
}
