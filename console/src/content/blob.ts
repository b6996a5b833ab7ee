import { useEffect, useState } from "react";

/**
 * Returns the address of bytes as a blob of the browser, which is given up with the view. The bytes are in no state and
 * no text of the page. Undefined while there are none.
 */
export function useBlobUrl(bytes: Uint8Array | undefined, type: string): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (bytes === undefined) return;
    const made = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type }));
    setUrl(made);
    return () => {
      URL.revokeObjectURL(made);
      setUrl(undefined);
    };
  }, [bytes, type]);
  return url;
}

/** Stores bytes as a file. Its type opens nothing. */
export function download(bytes: Uint8Array | string, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
