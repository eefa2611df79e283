// Reads what `columns.rs` has written: raw deflate in base 64, then variable-length integers.

async function inflate(text) {
  const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : fromBase64(text);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Reads numbers one after another. Doubles hold integers up to 2^53 exactly: 104 days in ns. */
class Numbers {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let weight = 128;
    do {
      byte = bytes[this.at++];
      value += (byte & 127) * weight;
      weight *= 128;
    } while (byte > 127);
    return value;
  }

  nextSigned() {
    const folded = this.next();
    return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
  }

  /** Fills an array with the next numbers. */
  fill(array) {
    for (let i = 0; i < array.length; i++) array[i] = this.next();
    return array;
  }

  fillSigned(array) {
    for (let i = 0; i < array.length; i++) array[i] = this.nextSigned();
    return array;
  }
}

/** The turns of a run, and the use of its CPUs over time. */
async function readTurns(chapter, variant, run) {
  const element = document.getElementById(`columns-${chapter}-${variant}`);
  const numbers = new Numbers(await inflate(element.textContent));
  element.remove();
  return new Turns(run, numbers);
}
