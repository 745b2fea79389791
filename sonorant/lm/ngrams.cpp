// Python's way to the n-gram models; `ngrams.pyi` documents it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <nb_combined.cpp>  // nanobind itself

#include "arpa_reader.hpp"
#include "kenlm_binary.hpp"
#include "kneser_ney.hpp"

namespace nb = nanobind;
using namespace sonorant::lm;

namespace {

using File = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// What a sentence adds to perplexity. tokens: words and the sentence's end; unknown: those that are not in the vocabulary.
struct SentenceScore {
    double log10 = 0, log10_unknown = 0;
    uint64_t tokens = 0, unknown = 0;
};

SentenceScore score_sentence(const NgramModel& model, std::string_view sentence) {
    constexpr std::string_view space = " \t\r\n\v\f";
    SentenceScore total;
    State state = model.begin();
    const auto add = [&](Word word, bool known) {
        const Scored scored = model.score(state, word);
        state = scored.next;
        total.log10 += scored.log10;
        ++total.tokens;
        if (known) return;
        total.log10_unknown += scored.log10;
        ++total.unknown;
    };
    for (size_t end, start = 0; (start = sentence.find_first_not_of(space, start)) != sentence.npos; start = end) {
        end = std::min(sentence.find_first_of(space, start), sentence.size());
        const Word word = model.index(sentence.substr(start, end - start));
        add(word, word != UNKNOWN);
    }
    if (model.end_word() != UNKNOWN) add(model.end_word(), true);
    return total;
}

Word checked(const NgramModel& model, Word word) {
    if (word >= model.words()) throw nb::index_error("word index beyond the vocabulary");
    return word;
}

// Files may hold any bytes; those that are not UTF-8 are shown as \\x….
nb::object decoded(std::string_view text) {
    return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

template <class Error>
void raising(nb::module_& m, const char* name) {
    const nb::object type = nb::exception<Error>(m, name);
    nb::register_exception_translator(
        [](const std::exception_ptr& caught, void* type) {
            try {
                std::rethrow_exception(caught);
            } catch (const Error& error) {
                PyErr_SetObject(static_cast<PyObject*>(type), decoded(error.what()).ptr());
            }
        },
        type.ptr());
}

void bind_model(nb::module_& m) {
    nb::class_<State>(m, "State")
        .def(nb::self == nb::self)
        .def("__hash__", &State::hash)
        .def_prop_ro("words", [](const State& state) {
            return std::vector<Word>(state.words.begin(), state.words.begin() + state.length);
        });
    nb::class_<SentenceScore>(m, "SentenceScore")
        .def_ro("log10", &SentenceScore::log10)
        .def_ro("log10_unknown", &SentenceScore::log10_unknown)
        .def_ro("tokens", &SentenceScore::tokens)
        .def_ro("unknown", &SentenceScore::unknown);
    nb::class_<NgramModel>(m, "NgramModel")
        .def("__init__", [](NgramModel* self, ArpaReader& reader) { new (self) NgramModel(reader.finish()); })
        .def("__init__", [](NgramModel* self, File file) {
            const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
            nb::gil_scoped_release release;
            new (self) NgramModel(KenlmBinary(bytes).read());
        })
        .def_prop_ro("order", &NgramModel::order)
        .def_prop_ro("size", [](const NgramModel& model) { return model.words(); })
        .def_prop_ro("begin_word", &NgramModel::begin_word)
        .def_prop_ro("end_word", &NgramModel::end_word)
        .def("index", &NgramModel::index, nb::arg("word"))
        .def("word", [](const NgramModel& model, Word word) {
            return decoded(model.vocabulary().word(checked(model, word)));
        }, nb::arg("index"))
        .def("begin", &NgramModel::begin)
        .def("null", &NgramModel::null)
        .def("ngrams", [](const NgramModel& model, unsigned order) {
            if (order < 1 || order > model.order()) throw nb::index_error("no such order");
            return model.ngrams(order);
        }, nb::arg("order"))
        .def("score", [](const NgramModel& model, const State& state, Word word) {
            const Scored scored = model.score(state, checked(model, word));
            return std::make_pair(scored.log10, scored.next);
        }, nb::arg("state"), nb::arg("word"))
        .def("score_sentence", &score_sentence, nb::arg("sentence"));
}

void bind_training(nb::module_& m) {
    nb::class_<Text>(m, "Text")
        .def(nb::init<>())
        .def("feed", [](Text& text, nb::bytes piece) { text.feed({piece.c_str(), piece.size()}); }, nb::arg("piece"))
        .def("end_file", &Text::end_file)
        .def("limit_words", &Text::limit_words, nb::arg("most"))
        .def_prop_ro("words", [](const Text& text) { return text.vocabulary().size(); })
        .def_prop_ro("tokens", [](const Text& text) { return text.tokens().size(); })
        .def_prop_ro("sentences", &Text::sentences);
    nb::class_<Discounts>(m, "Discounts")
        .def_prop_ro("amounts", [](const Discounts& d) { return std::vector<double>(d.amount.begin() + 1, d.amount.end()); })
        .def_ro("fallen_back", &Discounts::fallen_back);
    nb::class_<KneserNey>(m, "KneserNey")
        .def(nb::init<const Text&, std::vector<uint64_t>>(), nb::arg("text"), nb::arg("thresholds"), nb::keep_alive<1, 2>())
        .def("count", &KneserNey::count, nb::arg("order"), nb::call_guard<nb::gil_scoped_release>())
        .def("estimate", &KneserNey::estimate, nb::arg("order"), nb::call_guard<nb::gil_scoped_release>())
        .def("kept", &KneserNey::kept, nb::arg("order"))
        .def("lines", [](const KneserNey& model, unsigned order, uint64_t first, size_t bytes) {
            const std::string lines = model.lines(order, first, bytes);
            return nb::make_tuple(nb::bytes(lines.data(), lines.size()), first);
        }, nb::arg("order"), nb::arg("first"), nb::arg("bytes"));
}

}  // namespace

NB_MODULE(ngrams, m) {
    nb::set_leak_warnings(false);  // a recognizer freezes its objects, and would be warned of each at its end
    raising<BadLine>(m, "BadLine");
    raising<BadBinary>(m, "BadBinary");
    nb::class_<ArpaReader>(m, "ArpaReader")
        .def(nb::init<uint64_t>(), nb::arg("bytes"))
        .def("feed", [](ArpaReader& reader, nb::bytes piece) { reader.feed({piece.c_str(), piece.size()}); }, nb::arg("piece"));
    bind_model(m);
    bind_training(m);
}
