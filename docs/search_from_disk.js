// Of a page opened from disk a browser starts no worker and reads no JSON. This stands in for the worker of the search:
// it gets the index as a script, which docs/site_hooks.py writes.
if (location.protocol === "file:" && /\/search\.html$/.test(location.pathname)) {
  window.Worker = class {
    constructor() {
      const scripts = ["search/lunr.js", "search/search_index.js"].map((name) => this.load(name));
      Promise.all(scripts).then(() => this.begin());
    }

    load(name) {
      return new Promise((resolve) => {
        const script = document.createElement("script");
        Object.assign(script, { src: name, onload: resolve });
        document.head.append(script);
      });
    }

    begin() {
      const { docs, config } = window.searchIndex;
      this.pages = new Map(docs.map((page) => [page.location, page]));
      this.index = lunr(function () {
        this.field("title");
        this.field("text");
        this.ref("location");
        docs.forEach((page) => this.add(page));
      });
      this.onmessage({ data: { config } });
      this.onmessage({ data: { allowSearch: true } });
    }

    postMessage({ query }) {
      if (!query || !this.index) return;
      const found = this.index.search(query).map(({ ref }) => this.pages.get(ref));
      const results = found.map((page) => ({ ...page, summary: page.text.substring(0, 200) }));
      this.onmessage({ data: { results } });
    }
  };
}
